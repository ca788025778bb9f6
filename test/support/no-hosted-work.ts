import type { Cancellations } from '../../sidecar/control/hosted-work/cancellations.ts'

/** Cancellations of a gateway whose agents start no work at providers. */
export const NO_CANCELLATIONS: Cancellations = {
  begin: () => undefined,
  report: () => ({
    since: '2026-01-01T00:00:00.000Z',
    ...{ pending: 0, dropped: 0, unidentified: 0, results: [], omitted: 0 },
  }),
  close: () => undefined,
}
