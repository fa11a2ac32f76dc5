# SPDX-License-Identifier: Apache-2.0
"""Where a driver's files lie on a device, and what its policy calls it."""

from halyard.devices.device import WORK_FOLDER
from halyard.programs import native

PROGRAM_FOLDER = "/vendor/bin/hw"
SCRIPT_FOLDER = "/vendor/etc/init"
FRAGMENT_FOLDER = "/vendor/etc/vintf/manifest"

# The files of halyard deploy: its journal, the files it replaced, the service's log, and the
# program where /vendor can't be written. Files that root reads and runs lie where no other user can
# write, which the work folder does not.
DEPLOYMENT = "/data/local/halyard"
# Where root alone puts programs.
OF_ROOT = ("/vendor/", "/odm/", "/system/", "/apex/", f"{DEPLOYMENT}/")

# In the order in which they are looked for.
PROGRAMS = (
    f"{PROGRAM_FOLDER}/{native.AIDL_SERVICE}",
    f"{PROGRAM_FOLDER}/{native.SERVICE}",
    f"{DEPLOYMENT}/{native.SERVICE}",
    f"{WORK_FOLDER}/{native.SERVICE}",
)
SCRIPTS = (f"{SCRIPT_FOLDER}/*.rc", "/odm/etc/init/*.rc")
MANIFESTS = (
    f"{FRAGMENT_FOLDER}/*.xml",
    "/vendor/etc/vintf/manifest.xml",
    "/odm/etc/vintf/manifest/*.xml",
    "/odm/etc/vintf/manifest.xml",
)

DOMAIN = "hal_neuralnetworks_halyard"
EXECUTABLE_LABEL = f"u:object_r:{DOMAIN}_exec:s0"

# How all of its programs are called.
PROGRAM_MARK = "neuralnetworks"
PACKAGE = "android.hardware.neuralnetworks"
