// finds: nothing
// range: 16 / 16
// args: char 64
kernel void f(global char4 *x) {
  local char4 t[4];
  int i = get_local_id(0);
  ((local char *)t)[i] = x[i].x;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i].y = t[i / 4].w;
}
