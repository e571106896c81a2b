// RIGHT
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= n || j >= n)
    return;
  float4 v = 0;
  int k = 0;
  for (; k + 4 <= n; k += 4)
    v += vload4(0, A + i * n + k)
         * (float4)(B[k * n + j], B[(k + 1) * n + j], B[(k + 2) * n + j],
                    B[(k + 3) * n + j]);
  float s = v.x + v.y + v.z + v.w;
  for (; k < n; k++)
    s += A[i * n + k] * B[k * n + j];
  C[i * n + j] = s;
}
