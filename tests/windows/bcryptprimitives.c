/* The one function of bcryptprimitives.dll that Rust's standard library takes from it, for a Wine that has no such
   DLL: random bytes, from the function that Wine has. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE into, SIZE_T length) {
    return RtlGenRandom(into, (ULONG)length);
}
