"""Models as files: the container, the document of parameters and state, the engines."""
