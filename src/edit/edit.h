/*
** edit.h - what the files of the editor on readline share.
** SPDX-License-Identifier: MIT
*/
#ifndef edit_h
#define edit_h

#include <stdbool.h>
#include <time.h>

#include "lineedit.h"

/* lineedit.c */
bool clsh_editask(const char *name, int narg, int nres);
void clsh_editpush(void);
void clsh_editbelow(const char *text, size_t len);
void clsh_editmark(int first, int end);
void clsh_editend(const char *tail);
void clsh_editstale(void);
bool clsh_editwait(const struct timespec *limit);
lua_State *clsh_editstate(void);

/* paste.c */
bool clsh_editqueued(void);
int clsh_editkey(void);
int clsh_editpaste(int count, int key);
void clsh_editterminal(void);

/* keys.c */
void clsh_bindkeys(void);
void clsh_replacekey(int (*theirs)(int, int), int (*mine)(int, int));
void clsh_addkey(const char *sequence, int (*mine)(int, int));

/* recall.c: moving through the history */
void clsh_bindrecall(void);
bool clsh_recallback(void);
bool clsh_recallforward(void);
void clsh_recallend(void);

/* tab.c: completion and help */
void clsh_bindtab(void);

#endif
