/*
** driver.h - drivers in a process that forks, gets signals and ends.
** SPDX-License-Identifier: MIT
*/
#ifndef driver_h
#define driver_h

#include "cl.h"

/* driver.c */
bool clsh_driver_function(void *lib, const char *name, void *f);
void clsh_driver_touch(void);
bool clsh_driver_child(void);
bool clsh_driver_handsoff(void);
bool clsh_driver_abandoned(void);
void clsh_driver_keepfaults(void);
void clsh_driver_restorefaults(void);
void clsh_driver_block(void); /* signals, while a driver may start threads */
void clsh_driver_unblock(void);

#endif
