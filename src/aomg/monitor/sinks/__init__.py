"""Where results, summaries, alerts and refused rows are written. Every sink can repeat a batch."""
