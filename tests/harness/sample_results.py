# SPDX-License-Identifier: Apache-2.0
"""Documents as commands write them, with the few things that tests vary."""

import msgspec

from halyard.records import bench as benches
from halyard.records import compare as comparisons
from halyard.records import conditions as states
from halyard.records import conformance as conformances
from halyard.records import doctor as findings
from halyard.records import run as runs
from halyard.records import vts as suites
from halyard.timing.machine import Peak


def timings(median: float, count: int = 10) -> runs.Timings:
    return runs.Timings(
        count=count,
        first=median * 2,
        min=median * 0.9,
        avg=median * 1.05,
        std=median * 0.1,
        median=median,
        median_interval=(median * 0.95, median * 1.1),
        p90=median * 1.2,
        p95=median * 1.3,
        p99=median * 1.4,
        max=median * 2,
    )


def node(label: str = "operation 0 (CONV_2D)", median: float = 1.5) -> runs.Node:
    return runs.Node(
        operations=[0],
        label=label,
        node="Conv2d",
        nodes=1,
        type="QUANT8_ASYMM",
        backend="CpuAcc",
        partition=0,
        kernel="acc::gemm_int8",
        median_ms=median,
        share=0.6,
        bytes=1000,
        multiply_adds=5000,
        rate=12.0,
        unit="GOP/s",
        share_of_peak=0.4,
    )


def conditions(celsius: float = 41.5) -> states.Conditions:
    return states.Conditions(
        temperature_c=celsius,
        zones=[states.Zone(name="soc", celsius=celsius)],
        throttling="light",
        cores=[
            states.Cores(cpus=cpus, governor=governor, mhz=mhz, min_mhz=300.0, max_mhz=2800.0)
            for cpus, governor, mhz in (
                ("0-3", "schedutil", 1100.0),
                ("4-7", "performance", 2800.0),
            )
        ],
        online_cpus="0-7",
        allowed_cpus="4-7",
        load=0.5,
        supplies=[
            states.Supply(
                name="battery",
                type="Battery",
                status="Discharging",
                percent=80,
                volts=4.0,
                amperes=None,
                charge_mah=None,
            )
        ],
        energy=[],
        missing=[],
    )


def run(
    *,
    model: str = "mobilenet_v2",
    device: str = "S1",
    median: float = 2.5,
    ok: bool = True,
    message: str = "",
    max_steps: int | None = 1,
    label: str = "operation 0 (CONV_2D)",
) -> runs.Run:
    return runs.Run(
        model=runs.Model(name=model, type="quant8", size=224, width=1.0, seed=0),
        device=runs.Device(
            serial=device, emulated=True, properties={"ro.product.cpu.abi": "x86_64"}
        ),
        target="hidl:halyard-default",
        driver="halyard 0.1.0",
        hal="1.3",
        ok=ok,
        problems=[message] if message else [],
        notes=[],
        failed_stage="NONE",
        status="NONE",
        message=message,
        agreement=runs.Agreement(
            with_="LiteRT",
            outputs=[
                runs.OutputAgreement(
                    name="probabilities",
                    elements=1001,
                    nonzero=1000,
                    max_abs_error="inf",
                    max_relative_error=0.5,
                    max_steps=max_steps,
                    exact_share=0.75,
                    nan=0,
                )
            ],
        ),
        prepare_ms=30.0,
        timings_ms=timings(median),
        driver_timings_ms=None,
        device_timings_ms=None,
        peer_timings_ms=timings(median * 2),
        memory=runs.Memory(
            model_constant_bytes=4000, peak_rss_bytes=2**25, constant_bytes=5000, arena_bytes=6000
        ),
        partitions=1,
        bytes_between_partitions=0,
        copies=[],
        profile=[node(label)],
        placement=[
            runs.Placement(
                operation=0,
                operations=[0],
                label=label,
                node="Conv2d",
                backend="CpuAcc",
                partition=0,
                kernel="acc::gemm_int8",
                refusals={"GpuAcc": "is not there"},
            )
        ],
        vanished=[],
    )


def _engine(title: str, median: float, reason: str = "") -> benches.Engine:
    return benches.Engine(
        title=title,
        version="1.0",
        runs=50,
        median_ms=median,
        quartiles_ms=(median - 1, median + 1),
        min_ms=median - 2,
        prepare_ms=12.0,
        first_ms=median + 5,
        peak_memory_bytes=2**26,
        base_memory_bytes=2**25,
        agreement=None,
        failed=bool(reason),
        reason=reason,
        notes=[],
        share_of_peak=0.5,
    )


def bench(*, model: str = "mobilenet_v1", ours: float = 10.0, peers: float = 20.0) -> benches.Bench:
    return benches.Bench(
        date="2026-01-02T03:04:05+00:00",
        machine=benches.Machine(
            cpu="A processor",
            architecture="x86_64",
            cores=2,
            system="Linux",
            cpus=[0, 1],
            peaks=[Peak(2, "fma", 100.0, "vnni", 400.0, 20.0, 10.0)],
        ),
        backends=[],
        fast_math=False,
        runs=50,
        burners=0,
        peers=[benches.Peer(name="litert", title="LiteRT", version="1.0", missing="")],
        ok=True,
        complete=True,
        results=[
            benches.Result(
                model=model,
                type="float32",
                size=224,
                threads=2,
                multiply_adds=10**9,
                constant_bytes=10**7,
                reference="LiteRT",
                ratio_to_best_peer=ours / peers,
                best_peer="litert",
                engines={"halyard": _engine("Halyard", ours), "litert": _engine("LiteRT", peers)},
                clients=None,
                profile=[],
            )
        ],
        skipped=[],
    )


def pair(
    *,
    ratio: float = 1.5,
    significant: bool = True,
    words: str = "backends=CpuRef device=phone.yaml",
) -> benches.Bench:
    """Two sides that took turns: B takes `ratio` times as long."""
    whole = bench()
    [result] = whole.results

    def side(name: str, words: str, device: str, median: float) -> benches.Side:
        timed = msgspec.structs.replace(
            _engine(f"{name}: {words}", median), timings_ms=timings(median)
        )
        return benches.Side(
            name=name,
            words=words,
            device=device,
            backends=[],
            fast_math=False,
            mode="async",
            result=msgspec.structs.replace(
                result, engines={"halyard": timed}, conditions=conditions()
            ),
        )

    turns = benches.Pair(
        a=side("A", "backends=CpuAcc", "vm", 10.0),
        b=side("B", words, "phone.yaml", 10.0 * ratio),
        comparison=benches.Comparison(
            before_ms=10.0,
            after_ms=10.0 * ratio,
            ratio=ratio,
            interval=(ratio - 0.1, ratio + 0.1),
            p=0.001,
            significant=significant,
        ),
    )
    return msgspec.structs.replace(whole, pairs=[turns], results=[])


def case(name: str, status: str = "passed", message: str = "") -> conformances.Case:
    return conformances.Case(
        name=name,
        spec="V1_0/add.mod.py",
        status=status,
        stage="" if status == "passed" else "compare",
        message=message,
        max_steps=None,
        max_error=0.25,
        compared=4,
        operations=["ADD"],
        types=["TENSOR_FLOAT32"],
        hal="1.2",
        seconds=0.001,
        model="" if status == "passed" else "main\n  0   ADD -> %1 sum",
    )


def conformance(
    *,
    device: str = "S1",
    passed: int = 1,
    failed: int = 0,
    name: str = "add",
    message: str = "output 0 differs",
) -> conformances.Conformance:
    return conformances.Conformance(
        device=device,
        target="hidl:halyard-default",
        driver="halyard 0.1.0",
        seconds=1.5,
        planned=passed + failed,
        left_out=0,
        ended_early="",
        unreadable=[],
        passed=passed,
        failed=failed,
        unsupported=0,
        crashed=0,
        xfailed=0,
        xpassed=0,
        cases=[
            *(case(f"{name}_good_{number}") for number in range(passed)),
            *(case(f"{name}_bad_{number}", "failed", message) for number in range(failed)),
        ],
    )


def vts(*, device: str = "S1", reason: str = "the service died") -> suites.Vts:
    tests = [
        suites.Test(
            name="Test/add_SYNC",
            suite="GeneratedTest",
            hal="1.3",
            outcome="failed",
            reason=reason,
            seconds=0.1,
        ),
        suites.Test(
            name="Test/add_ASYNC",
            suite="GeneratedTest",
            hal="1.3",
            outcome="passed",
            reason="",
            seconds=0.1,
        ),
    ]
    return suites.Vts(
        device=device,
        target="hidl:halyard-default",
        driver="halyard 0.1.0",
        hal=["1.3"],
        seconds=0.2,
        planned=2,
        ended_early="",
        unreadable=[],
        passed=1,
        failed=1,
        skipped=0,
        classes={"GeneratedTest": suites.Counts(passed=1, failed=1, skipped=0)},
        tests=tests,
    )


def _statistics(name: str, error: float) -> comparisons.Statistics:
    return comparisons.Statistics(
        name=name,
        elements=10,
        max_abs_error=error,
        mean_abs_error=error / 2,
        rms_error=error / 2,
        max_relative_error="inf",
        max_steps=None,
        cosine=0.5,
        snr_db=None,
        exact_share=0.25,
        nan=0,
    )


def compare(
    *, model: str = "mobilenet_v2", label: str = "operation 1 (ADD)", b: str = "CpuAcc"
) -> comparisons.Compare:
    layers = [
        comparisons.Layer(
            operation=number,
            label=name,
            tensor="t",
            verdict=verdict,
            reason="",
            backend="CpuAcc",
            chained=_statistics("t", error),
            isolated=None,
        )
        for number, (name, verdict, error) in enumerate(
            [("operation 0 (CONV_2D)", "agrees", 1e-6), (label, "diverges", 0.5)]
        )
    ]
    return comparisons.Compare(
        model=runs.Model(name=model, type="float32", size=32, width=0.1, seed=0),
        a=comparisons.Side(name="CpuRef", version="halyard 0.1.0", backends={"CpuRef": 2}),
        b=comparisons.Side(name=b, version="halyard 0.1.0", backends={"CpuAcc": 2}),
        ok=False,
        problems=["probabilities: off"],
        input_sets=[
            comparisons.InputSet(
                inputs="seed 0",
                problems=[],
                outputs=[
                    comparisons.Output(
                        statistics=_statistics("probabilities", 0.5),
                        top_k=comparisons.TopK(k=5, first=1.0, shared=0.8),
                    )
                ],
            )
        ],
        layers=comparisons.Layers(
            inputs="seed 0", is_isolated=False, first_diverging=1, notes=[], layers=layers
        ),
    )


def doctor(
    *,
    device: str = "vm",
    seen: str = "there is no /dev/hwbinder",
    fix: str = "load it",
    command: str = "modprobe binder",
) -> findings.Doctor:
    return findings.Doctor(
        device=device,
        instance="halyard-default",
        ok=False,
        problems=1,
        warnings=0,
        unknown=0,
        findings=[
            findings.Finding(
                check="binder",
                verdict="problem",
                seen=seen,
                fix=fix,
                command=command,
            )
        ],
    )
