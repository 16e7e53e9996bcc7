"""Results for people: a title, lines and tables, and their writers for text, Markdown, pages and JUnit."""
