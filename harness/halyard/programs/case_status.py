# SPDX-License-Identifier: Apache-2.0
"""A runner's result of a case, in words. It may say what no version of it knows."""

from halyard.proto import halyard_pb2 as pb


def stage_name(stage: int) -> str:
    """ "PREPARE"; "STAGE 77" for one that there is not."""
    if stage in pb.Stage.values():
        return pb.Stage.Name(pb.Stage.ValueType(stage)).removeprefix("STAGE_")
    return f"STAGE {stage}"


def status_name(status: int) -> str:
    """ "INVALID_ARGUMENT"; the number for one that no HAL version has."""
    if status in pb.ErrorStatus.values():
        return pb.ErrorStatus.Name(pb.ErrorStatus.ValueType(status)).removeprefix("ERROR_STATUS_")
    return str(status)


def failures(result: pb.CaseResult) -> list[str]:
    """The failure on the device."""
    if result.failed_stage != pb.STAGE_NONE:
        stage = stage_name(result.failed_stage).lower()
        # LiteRT's runtime and other engines have no such status.
        has_status = result.status != pb.ERROR_STATUS_NONE
        status = f"{status_name(result.status)}: " if has_status else ""
        return [f"{stage}: {status}{result.message}"]
    return [
        f"execute: {status_name(example.status)}: {example.message}"
        for example in result.examples
        if example.status != pb.ERROR_STATUS_NONE
    ]
