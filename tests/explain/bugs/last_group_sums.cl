// finds: race 7 11
// range: 16 / 4
// args: int 16, int 4, int 1=0, int 1
kernel void f(global int *x, global int *part, global int *done,
              global int *sum) {
  if (get_local_id(0) == 0) {
    part[get_group_id(0)] = x[get_global_id(0)];
    if (atomic_inc(done) == 3) {
      int s = 0;
      for (int g = 0; g < 4; g++)
        s += part[g];
      sum[0] = s;
    }
  }
}
