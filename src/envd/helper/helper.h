/* What the helper can do; each returns its exit code, or has become another program. */
#ifndef AGENTBOX_HELPER_H
#define AGENTBOX_HELPER_H

int doorman(char **program);
int command(void);
int resize(const char *rows, const char *columns);
int attributes(void);
int watch(void);

#endif
