"""The npm package with test runners and client libraries: `bin/test npm`. Not part of the ordinary test suite."""
