/*
** histfile.h - the history: texts that were entered, the oldest first.
** SPDX-License-Identifier: MIT
*/
#ifndef histfile_h
#define histfile_h

int clsh_historysize(void);
const char *clsh_historyat(int i);
void clsh_historyoff(void);
void clsh_historyadd(const char *text);

#endif
