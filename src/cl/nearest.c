/*
** nearest.c - the name in a list that a mistyped word is nearest to.
** SPDX-License-Identifier: MIT
*/
#include <string.h>

#include "cl.h"

/* Edit distance of two short words (Levenshtein), rows kept on the stack. */
static int distance(const char *a, const char *b) {
  int row[64];
  int n = (int)strlen(b);
  if (n > 62 || strlen(a) > 62)
    return 64;
  for (int j = 0; j <= n; j++)
    row[j] = j;
  for (int i = 1; a[i - 1] != '\0'; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      int best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
      diagonal = row[j];
      row[j] = change < best ? change : best;
    }
  }
  return row[n];
}

/* The name of the NULL-ended list nearest to `word`; NULL if none is near. */
const char *clsh_nearest(const char *word, const char *const names[]) {
  const char *best = NULL;
  int limit = (int)strlen(word) / 3 + 2;
  for (; *names != NULL; names++) {
    int d = distance(word, *names);
    if (d < limit) {
      limit = d;
      best = *names;
    }
  }
  return best;
}
