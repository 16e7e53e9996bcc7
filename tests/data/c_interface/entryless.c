/* A library that is not a backend. */
int answer(void);
int answer(void) { return 42; }
