/* empty.cl - a kernel that does nothing: the cost of a launch
** SPDX-License-Identifier: MIT
**
** Arguments: n, unused: some drivers stumble over a kernel without any.
** NDRange: any; {1} for the cost of the launch alone, many work-groups for
**   what scheduling each of them adds.
** Defines: none.
** Assumes nothing.
**
** Lesson: the time from `start` to `stop` of its event, and from `queued` to
** `stop`, is what every launch costs before it has done any work. A kernel
** that takes as long as this one is too small to be measured.
*/
kernel void empty(int n)
{
}
