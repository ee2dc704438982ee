# Filled in with the install rules of the package (headers, libraries, HeddleConfig.cmake).
