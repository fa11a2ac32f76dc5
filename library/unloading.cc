// SPDX-License-Identifier: Apache-2.0
//
// What a GNU C++ library inside libhalyard.so took when it was loaded (memory to throw exceptions
// with where there is none left) is given back when it is unloaded: it does not do so by itself.
// One that other libraries use, too, is theirs.

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
