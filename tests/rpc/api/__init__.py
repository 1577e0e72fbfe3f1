"""What the methods answer where no recorded case says it (tests/conformance/cases has most): limits, work, and our own methods."""
