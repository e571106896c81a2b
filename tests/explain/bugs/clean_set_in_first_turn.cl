// finds: nothing
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int i = get_global_id(0), best, n = 0;
  for (int k = 0; k < 4; k++) {
    int v = x[i] * k % 5;
    if (n == 0 || v > best) {
      best = v;
      n++;
    }
  }
  x[i] = best;
}
