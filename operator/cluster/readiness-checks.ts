import type { KillWatch } from '../control/kill-watch.ts'
import type { ReadinessCheck } from '../health-server.ts'
import type { Informers } from './informer-caches.ts'

/**
 * Returns the readiness checks of a replica. No check concerns the control plane, because pods are admitted without it.
 */
export function readinessChecks(
  informers: Pick<Informers, 'isSynced' | 'stalenessS'>,
  killWatch: Pick<KillWatch, 'stalenessMs'>,
  maxStalenessMs: number,
): readonly ReadinessCheck[] {
  return [
    {
      name: 'synced',
      problem: () =>
        informers.isSynced() ? null : 'the operator has not read all objects from the API server yet',
    },
    {
      name: 'watches',
      problem() {
        const silent = [...informers.stalenessS()].filter(([, seconds]) => seconds * 1_000 > maxStalenessMs)
        const names = silent.map(([name]) => name).join(', ')
        return names === '' ? null : `the API server has sent no data about ${names} recently`
      },
    },
    {
      name: 'kill-switches',
      problem: () =>
        killWatch.stalenessMs() < maxStalenessMs
          ? null
          : 'the kill switches of Gateways and emergency ConfigMaps cannot be read from the API server',
    },
  ]
}
