import type { Clock } from '../../../core/state/clock.ts'
import type { ControlPlane } from '../control-plane.ts'
import type { KillState } from '../kill-switch/kill-state.ts'
import { type CancelSenderDeps, createCancelSender } from './cancel-exchange.ts'
import { type Cancellations, createCancellations } from './cancellations.ts'
import { createHostedWork, type HostedWork } from './hosted-work.ts'

type Deps = {
  readonly kill: Pick<KillState, 'match'>
  readonly clock: Clock
  readonly newId: CancelSenderDeps['ports']['newId']
  readonly handle: CancelSenderDeps['handle']
  readonly control: () => Pick<ControlPlane, 'snapshots' | 'reportStatus'>
}

/** Creates the registry of work at providers, and the cancellations of the work that a kill switch covers. */
export function createKilledWork({ kill, clock, newId, handle, control }: Deps): {
  readonly hostedWork: HostedWork
  readonly cancellations: Cancellations
} {
  const hostedWork = createHostedWork()
  const cancellations = createCancellations({
    work: hostedWork,
    match: kill.match,
    mayCancelBatches: () => control().snapshots.current()?.gateway.cancelBatches === true,
    send: createCancelSender({ ports: { clock, newId }, handle }),
    clock,
    onChange: () => control().reportStatus(),
  })
  return { hostedWork, cancellations }
}
