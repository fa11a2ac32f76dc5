// SPDX-License-Identifier: Apache-2.0
//
// Unloading libhalyard.so frees what a GNU C++ library inside it took when it was loaded (memory to
// throw exceptions with where there is none left), which it does not do by itself. A C++ library
// that others use, too, is left alone.

#ifdef HALYARD_OWNS_LIBSTDCXX

namespace __gnu_cxx {
void __freeres();  // NOLINT(bugprone-reserved-identifier): the C++ library's own
}

namespace {

__attribute__((destructor)) void giveBack() {
    __gnu_cxx::__freeres();
}

}  // namespace

#endif
