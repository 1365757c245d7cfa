/*
 * `sudo` of the image `host` on machines that have none: runs a command as another user of the sandbox, for users to which /etc/sudoers gives that
 * without a password. It does what programs ask of sudo; it asks for no password, and it has no plug-ins.
 *
 * It is set-user-id root, and lies in a folder of the machine into which only the machine's root may look. Inside a sandbox, root is a user without
 * rights on the machine. Outside of a user namespace it refuses to do anything.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char search_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
static const char rules_path[] = "/etc/sudoers";
static const char usage[] =
    "usage: sudo [-EHnS] [-u user] [-g group] [-D folder] [-i | -s] [NAME=value] [command [argument ...]]\n       sudo -l | -v | -k | -V\n";

enum { most_groups = 256 };

struct account {
  char name[256], home[1024], shell[1024];
  uid_t uid;
  gid_t gid;
};

struct wanted {
  const char *user, *group, *folder, *kept;
  bool keeps_all, is_login, is_shell, in_background;
  char **command;
};

_Noreturn static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("sudo: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/* On the machine itself the first line maps all ids to themselves. */
static void require_sandbox(void) {
  unsigned inside = 0, outside = 0, count = 0;
  FILE *map = fopen("/proc/self/uid_map", "re");
  if (map == NULL || fscanf(map, "%u %u %u", &inside, &outside, &count) != 3) fail("/proc/self/uid_map cannot be read");
  fclose(map);
  if (inside == outside) fail("this program works in sandboxes only");
  if (geteuid() != 0) fail("its file must belong to root and be set-user-id, on a file system that is mounted without nosuid");
}

static bool is_number(const char *text) {
  return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* By name, or by `#` and number. */
static bool find_account(const char *name, uid_t uid, struct account *found) {
  bool by_id = name == NULL || (name[0] == '#' && is_number(name + 1));
  if (name != NULL && by_id) uid = (uid_t)strtoul(name + 1, NULL, 10);
  FILE *file = fopen("/etc/passwd", "re");
  if (file == NULL) fail("/etc/passwd: %s", strerror(errno));
  struct passwd *entry;
  while ((entry = fgetpwent(file)) != NULL && !(by_id ? entry->pw_uid == uid : strcmp(entry->pw_name, name) == 0)) continue;
  if (entry != NULL) {
    snprintf(found->name, sizeof found->name, "%s", entry->pw_name);
    snprintf(found->home, sizeof found->home, "%s", entry->pw_dir);
    snprintf(found->shell, sizeof found->shell, "%s", entry->pw_shell[0] == '\0' ? "/bin/sh" : entry->pw_shell);
    found->uid = entry->pw_uid;
    found->gid = entry->pw_gid;
  }
  fclose(file);
  return entry != NULL;
}

static bool is_member(const struct group *group, const struct account *account) {
  if (group->gr_gid == account->gid) return true;
  for (char **member = group->gr_mem; *member != NULL; member++)
    if (strcmp(*member, account->name) == 0) return true;
  return false;
}

/* The groups of an account, its own first. */
static int groups_of(const struct account *account, gid_t *groups) {
  int count = 0;
  groups[count++] = account->gid;
  FILE *file = fopen("/etc/group", "re");
  if (file == NULL) return count;
  for (struct group *group; count < most_groups && (group = fgetgrent(file)) != NULL;)
    if (group->gr_gid != account->gid && is_member(group, account)) groups[count++] = group->gr_gid;
  fclose(file);
  return count;
}

static gid_t find_group(const char *name) {
  if (name[0] == '#' && is_number(name + 1)) return (gid_t)strtoul(name + 1, NULL, 10);
  FILE *file = fopen("/etc/group", "re");
  if (file == NULL) fail("/etc/group: %s", strerror(errno));
  for (struct group *group; (group = fgetgrent(file)) != NULL;)
    if (strcmp(group->gr_name, name) == 0) {
      gid_t gid = group->gr_gid;
      fclose(file);
      return gid;
    }
  fail("unknown group %s", name);
}

static bool is_in_group(const char *name, const struct account *caller) {
  bool found = false;
  FILE *file = fopen("/etc/group", "re");
  if (file == NULL) return false;
  for (struct group *group; !found && (group = fgetgrent(file)) != NULL;) found = strcmp(group->gr_name, name) == 0 && is_member(group, caller);
  fclose(file);
  return found;
}

/* Lines such as `user ALL=(ALL:ALL) NOPASSWD:ALL` and `%group ALL=(ALL) NOPASSWD: ALL`; no other line gives anything. */
static bool allows(char *line, const struct account *caller) {
  char *who = strtok(line, " \t\n"), *rest = strtok(NULL, "\n");
  if (who == NULL || rest == NULL || who[0] == '#') return false;
  bool is_meant = who[0] == '%' ? is_in_group(who + 1, caller) : strcmp(who, caller->name) == 0 || strcmp(who, "ALL") == 0;
  char *given = strstr(rest, "NOPASSWD:");
  if (!is_meant || given == NULL || strncmp(rest + strspn(rest, " \t"), "ALL", 3) != 0) return false;
  given += strlen("NOPASSWD:");
  given += strspn(given, " \t");
  return strncmp(given, "ALL", 3) == 0 && given[3 + strspn(given + 3, " \t")] == '\0';
}

static void require_right(const struct account *caller) {
  if (caller->uid == 0) return;
  FILE *rules = fopen(rules_path, "re");
  struct stat facts;
  if (rules == NULL || fstat(fileno(rules), &facts) != 0) fail("%s: %s", rules_path, strerror(errno));
  if (facts.st_uid != 0 || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) fail("%s must belong to root, and only root may write it", rules_path);
  char line[1024];
  bool may = false;
  while (!may && fgets(line, sizeof line, rules) != NULL) may = allows(line, caller);
  fclose(rules);
  if (!may) fail("%s has no line `%s ALL=(ALL:ALL) NOPASSWD:ALL`, and passwords are not asked for", rules_path, caller->name);
}

/* What follows an option: in its own word, or in the next. */
static const char *value_of(char *rest, char ***next) {
  if (*rest != '\0') return *rest == '=' ? rest + 1 : rest;
  if (**next == NULL) {
    fputs(usage, stderr);
    exit(1);
  }
  return *(*next)++;
}

static void take_word(struct wanted *wanted, const char *word, char ***next) {
  static const struct {
    const char *name;
    char letter;
  } names[] = {{"user", 'u'}, {"group", 'g'}, {"chdir", 'D'}, {"prompt", 'p'}, {"preserve-env", 'E'}, {"set-home", 'H'}, {"login", 'i'},
               {"shell", 's'}, {"non-interactive", 'n'}, {"stdin", 'S'}, {"background", 'b'}, {"preserve-groups", 'P'}};
  size_t size = strcspn(word, "=");
  for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
    if (strlen(names[at].name) != size || strncmp(names[at].name, word, size) != 0) continue;
    char *value = (char *)word + size;
    switch (names[at].letter) {
      case 'u': wanted->user = value_of(value, next); return;
      case 'g': wanted->group = value_of(value, next); return;
      case 'D': wanted->folder = value_of(value, next); return;
      case 'p': value_of(value, next); return;
      case 'E':
        if (*value == '=') wanted->kept = value + 1;
        else wanted->keeps_all = true;
        return;
      case 'i': wanted->is_login = true; return;
      case 's': wanted->is_shell = true; return;
      case 'b': wanted->in_background = true; return;
      default: return;
    }
  }
  fail("unknown option --%s\n%s", word, usage);
}

_Noreturn static void answer_only(char letter, const struct account *caller) {
  if (letter == 'V') puts("sudo of AgentBox");
  if (letter == 'h') fputs(usage, stdout);
  if (letter == 'l') {
    require_right(caller);
    printf("User %s may run the following commands:\n    (ALL : ALL) NOPASSWD: ALL\n", caller->name);
  }
  if (letter == 'v') require_right(caller);
  exit(0);
}

static void take_letters(struct wanted *wanted, char *letters, char ***next, const struct account *caller) {
  for (char *at = letters; *at != '\0'; at++) {
    switch (*at) {
      case 'u': wanted->user = value_of(at + 1, next); return;
      case 'g': wanted->group = value_of(at + 1, next); return;
      case 'D': wanted->folder = value_of(at + 1, next); return;
      case 'p': case 'C': case 'T': value_of(at + 1, next); return;
      case 'E': wanted->keeps_all = true; break;
      case 'i': wanted->is_login = true; break;
      case 's': wanted->is_shell = true; break;
      case 'b': wanted->in_background = true; break;
      case 'H': case 'n': case 'S': case 'A': case 'P': case 'B': break;
      case 'V': case 'h': case 'l': case 'v': case 'K': answer_only(*at, caller);
      case 'k':
        if (at[1] == '\0' && **next == NULL) exit(0);
        break;
      default: fail("unknown option -%c\n%s", *at, usage);
    }
  }
}

static struct wanted read_arguments(char **arguments, const struct account *caller) {
  struct wanted wanted = {.user = NULL};
  char **next = arguments;
  for (; *next != NULL && (*next)[0] == '-' && (*next)[1] != '\0';) {
    char *word = *next++;
    if (strcmp(word, "--") == 0) break;
    if (strcmp(word, "--version") == 0) answer_only('V', caller);
    if (strcmp(word, "--help") == 0) answer_only('h', caller);
    if (strcmp(word, "--list") == 0) answer_only('l', caller);
    if (strcmp(word, "--validate") == 0) answer_only('v', caller);
    if (strcmp(word, "--remove-timestamp") == 0) exit(0);
    if (strcmp(word, "--reset-timestamp") == 0) {
      if (*next == NULL) exit(0);
    } else if (word[1] == '-') take_word(&wanted, word + 2, &next);
    else take_letters(&wanted, word + 1, &next, caller);
  }
  wanted.command = next;
  return wanted;
}

static bool is_assignment(const char *word) {
  size_t size = strcspn(word, "=");
  if (size == 0 || word[size] == '\0' || isdigit((unsigned char)word[0])) return false;
  for (size_t at = 0; at < size; at++)
    if (!isalnum((unsigned char)word[at]) && word[at] != '_') return false;
  return true;
}

static bool is_listed(const char *names, const char *name, size_t size) {
  for (const char *at = names; at != NULL && *at != '\0'; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
    if (strcspn(at, ",") == size && strncmp(at, name, size) == 0) return true;
  }
  return false;
}

/* Variables of the caller that stay, as with sudo's own settings. */
static bool is_kept(const struct wanted *wanted, const char *variable) {
  static const char usual[] = "TERM,COLORTERM,LANG,LANGUAGE,TZ,DISPLAY,XAUTHORITY,LS_COLORS";
  size_t size = strcspn(variable, "=");
  return wanted->keeps_all || is_listed(usual, variable, size) || is_listed(wanted->kept, variable, size) || strncmp(variable, "LC_", 3) == 0;
}

static void set(const char *name, const char *value) {
  if (setenv(name, value, 1) != 0) fail("%s", strerror(errno));
}

static void set_number(const char *name, unsigned value) {
  char text[16];
  snprintf(text, sizeof text, "%u", value);
  set(name, text);
}

static void set_variables(const struct wanted *wanted, const struct account *caller, const struct account *target) {
  char **before = environ;
  static char *none[] = {NULL};
  environ = none;
  for (char **variable = before; *variable != NULL; variable++) {
    char *name = strndup(*variable, strcspn(*variable, "="));
    if (name == NULL) fail("%s", strerror(errno));
    if (is_kept(wanted, *variable) && (*variable)[strlen(name)] == '=') set(name, *variable + strlen(name) + 1);
    free(name);
  }
  set("PATH", search_path);
  set("HOME", target->home);
  set("SHELL", target->shell);
  set("USER", target->name);
  set("LOGNAME", target->name);
  set("SUDO_USER", caller->name);
  set("SUDO_COMMAND", wanted->command[0] == NULL ? target->shell : wanted->command[0]);
  set_number("SUDO_UID", caller->uid);
  set_number("SUDO_GID", caller->gid);
}

static void become(const struct wanted *wanted, struct account *target) {
  gid_t groups[most_groups];
  int count = groups_of(target, groups);
  if (wanted->group != NULL) groups[0] = target->gid = find_group(wanted->group);
  if (setgroups((size_t)count, groups) != 0 || setresgid(target->gid, target->gid, target->gid) != 0) fail("groups: %s", strerror(errno));
  if (setresuid(target->uid, target->uid, target->uid) != 0) fail("user %s: %s", target->name, strerror(errno));
}

/* The words of a command as a shell reads them back, in memory that stays. */
static char *quoted(char **words) {
  size_t room = 1;
  for (char **word = words; *word != NULL; word++) room += 2 * strlen(*word) + 1;
  char *text = malloc(room), *to = text;
  if (text == NULL) fail("%s", strerror(errno));
  for (char **word = words; *word != NULL; word++) {
    if (word != words) *to++ = ' ';
    for (const char *from = *word; *from != '\0'; from++) {
      if (!isalnum((unsigned char)*from) && strchr("_-$./", *from) == NULL) *to++ = '\\';
      *to++ = *from;
    }
  }
  *to = '\0';
  return text;
}

_Noreturn static void run_shell(const struct wanted *wanted, const char *shell) {
  const char *last = strrchr(shell, '/');
  char name[1024];
  snprintf(name, sizeof name, "%s%s", wanted->is_login ? "-" : "", last == NULL ? shell : last + 1);
  if (wanted->command[0] == NULL) execl(shell, name, (char *)NULL);
  else execl(shell, name, "-c", quoted(wanted->command), (char *)NULL);
  fail("%s: %s", shell, strerror(errno));
}

int main(int count, char **arguments) {
  (void)count;
  require_sandbox();
  struct account caller, target;
  if (!find_account(NULL, getuid(), &caller)) fail("there is no user %u in /etc/passwd", getuid());
  struct wanted wanted = read_arguments(arguments + 1, &caller);
  char **assignments = wanted.command;
  while (*wanted.command != NULL && is_assignment(*wanted.command)) wanted.command++;
  if (wanted.command[0] == NULL && !wanted.is_login && !wanted.is_shell) {
    fputs(usage, stderr);
    return 1;
  }
  require_right(&caller);
  if (!find_account(wanted.user == NULL ? (wanted.group == NULL ? "root" : caller.name) : wanted.user, 0, &target)) fail("unknown user %s", wanted.user);
  const char *own_shell = getenv("SHELL");
  char *shell = strdup(wanted.is_login || own_shell == NULL ? target.shell : own_shell);
  if (shell == NULL) fail("%s", strerror(errno));
  set_variables(&wanted, &caller, &target);
  for (char **word = assignments; word < wanted.command; word++)
    if (putenv(*word) != 0) fail("%s", strerror(errno));
  become(&wanted, &target);
  if (wanted.is_login && chdir(target.home) != 0) fprintf(stderr, "sudo: %s: %s\n", target.home, strerror(errno));
  if (wanted.folder != NULL && chdir(wanted.folder) != 0) fail("%s: %s", wanted.folder, strerror(errno));
  close_range(3, ~0U, 0);
  if (wanted.in_background && fork() != 0) return 0;
  if (wanted.is_login || wanted.is_shell) run_shell(&wanted, shell);
  execvp(wanted.command[0], wanted.command);
  if (errno == ENOENT) fail("%s: command not found", wanted.command[0]);
  fail("%s: %s", wanted.command[0], strerror(errno));
}
