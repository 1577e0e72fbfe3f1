"""Third-party clients against our nodes: `bin/test clients`. Not part of the ordinary test suite."""
