/* empty.cl - a kernel that does nothing: the cost of a launch
** SPDX-License-Identifier: MIT
**
** Arguments: n, unused: some drivers stumble over a kernel without any.
** NDRange: any; {1} for the cost of the launch alone, many work-groups for
**   the cost of scheduling each of them.
** Defines: none.
** Assumes nothing.
**
** Lesson: the time from `start` to `stop` of its event, and from `queued` to
** `stop`, is the cost of every launch before any work. A kernel that takes no
** longer than this one is too small to be measured.
*/
kernel void empty(int n)
{
}
