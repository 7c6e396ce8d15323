/**
 * Tells the agentd daemon what Pi does, and offers agentd's tools to Pi.
 *
 * Every event is one JSON line, written at once to the file that AGENTD_PI_SPOOL names. What a release
 * can do is asked of the release, not concluded from its version: an event that it doesn't know never
 * comes, a function that it lacks isn't called. Nothing that goes wrong here may disturb Pi.
 */
import { appendFileSync } from "node:fs";

const spool = process.env.AGENTD_PI_SPOOL;
/** The MCP server to offer: {"name": …, "config": {…}}. */
const offer = process.env.AGENTD_PI_MCP;
/** `file` where this release goes on with a session by its file, not by its id. */
const handle = process.env.AGENTD_PI_HANDLE;
/** How often a text or a tool's output that streams in is worth a line. */
const SIGN_MS = 2000;

type Row = Record<string, unknown>;

export default function (pi: any) {
	if (!spool) return;
	let silent = false;
	let signed = 0;

	const write = (event: string, data: Row = {}) => {
		if (silent) return;
		try {
			const row = { time: Date.now() / 1000, hook: { event, ...data } };
			appendFileSync(spool, `${JSON.stringify(row)}\n`, { mode: 0o600 });
		} catch {
			// A full disk, a folder that is gone: Pi's turn is worth more than this line.
		}
	};

	/** Handlers return nothing: whatever they returned could change what Pi does. */
	const on = (name: string, tell: (event: any, ctx: any) => void) => {
		try {
			pi.on(name, (event: any, ctx: any) => {
				try {
					tell(event, ctx);
				} catch (error) {
					write("fault", { of: name, error: String(error) });
				}
			});
		} catch {
			// A release that refuses an event it doesn't know.
		}
	};

	const sign = () => {
		if (Date.now() - signed < SIGN_MS) return;
		signed = Date.now();
		write("sign");
	};

	const offered = offer ? offerTools(pi, offer) : undefined;

	on("session_start", (event, ctx) => {
		// Print, JSON and RPC mode have no pane to speak of. Releases before 0.78 have no `mode`.
		silent = ctx.mode ? ctx.mode !== "tui" : ctx.hasUI === false;
		const session = ctx.sessionManager;
		const said = session.getEntries().filter((entry: any) => entry.type === "message");
		const file = session.getSessionFile();
		write("session_start", {
			reason: event.reason,
			session: handle === "file" && file ? file : session.getSessionId(),
			file,
			messages: said.length,
			send: typeof pi.sendUserMessage === "function",
			mcp: typeof pi.registerMcpServer === "function",
			offered,
		});
	});
	on("session_shutdown", (event) => write("session_shutdown", { reason: event.reason }));

	on("input", (event, ctx) => {
		const streaming = event.streamingBehavior ?? (ctx.isIdle() ? undefined : "steer");
		write("input", { text: event.text, source: event.source, streaming });
	});
	on("user_bash", (event) => write("user_bash", { command: event.command }));

	on("agent_start", () => write("agent_start"));
	on("message_end", (event, ctx) => {
		const { role, timestamp } = event.message;
		if (role === "user") write("user", { at: timestamp, text: textOf(event.message) });
		if (role === "assistant") write("assistant", { at: timestamp, ...answer(event.message, ctx) });
	});
	on("message_update", sign);
	on("tool_execution_start", (event) => {
		write("tool_start", { tool: event.toolName, id: event.toolCallId });
	});
	on("tool_execution_update", sign);
	on("tool_execution_end", (event) => {
		write("tool_end", { tool: event.toolName, id: event.toolCallId, failed: event.isError === true });
	});
	on("agent_end", (event, ctx) => {
		const messages: any[] = event.messages ?? [];
		const last = messages.filter((message) => message.role === "assistant").pop();
		write("agent_end", last ? answer(last, ctx) : {});
	});
	on("agent_before_settle", () => write("settling"));
	on("agent_settled", (event) => write("agent_settled", { aborted: event.aborted }));

	on("session_before_compact", () => write("compact_start"));
	on("session_compact", () => write("compact_end"));
	on("session_compact_failed", () => write("compact_end"));

	on("ui_prompt_start", (event) => write("ask", { kind: event.kind, title: event.title }));
	on("ui_prompt_end", () => write("asked"));
}

/** Returns what became of it: true, or why not. */
function offerTools(pi: any, what: string): true | string {
	if (typeof pi.registerMcpServer !== "function") return "this release has no MCP";
	try {
		const { name, config } = JSON.parse(what);
		pi.registerMcpServer(name, config);
		return true;
	} catch (error) {
		return String(error);
	}
}

function answer(message: any, ctx: any): Row {
	const stopped = message.stopReason;
	// Some releases call an answer that was cut short after a tool an error (0.87.1).
	const stop = stopped === "error" && ctx.signal?.aborted ? "aborted" : stopped;
	return { text: textOf(message), stop, error: message.errorMessage };
}

function textOf(message: any): string {
	if (typeof message.content === "string") return message.content;
	const blocks: any[] = message.content ?? [];
	const texts = blocks.filter((block) => block.type === "text").map((block) => block.text);
	return texts.join("\n");
}
