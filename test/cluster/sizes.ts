import { size } from '../support/proof.ts'

/** Sizes of these tests: of `npm run test:cluster`, and of the full proof (`CHAPERONE_PROOF=full`), the nightly form. */
export const SIZES = {
  /** Milliseconds for which a part of the installation is away. */
  outageMs: size(20_000, 120_000),
  /** Agents that start in the load test. */
  starts: size(30, 200),
  /** Agents that start at once for the API server; the node starts as many at a time as it has room for. */
  startsAtATime: 10,
  /** Agents that a kill switch stops. A node for 100 admits more pods than the 110 that are its default. */
  stoppedAgents: size(20, 100),
  /**
   * Milliseconds between two calls of such an agent. On two cores 100 agents that call every 100 ms take all of the CPU time, and
   * no sidecar starts.
   */
  callEveryMs: size(100, 500),
  /** Gateway processes on this machine that a kill switch stops beside them. */
  stoppedProcesses: size(2, 100),
  /** Sidecars that start at once while the control plane has 0.2 CPU. */
  starved: 28,
  /** Pods of others, without a Gateway. */
  foreignPods: 4_000,
  /** How often the kill switch stops them. */
  stops: size(2, 5),
} as const
