"""What adapter authors and this project test with: a scripted model, a fake terminal, a conformance suite."""
