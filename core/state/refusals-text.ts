import type { RefusalTally } from './refusal-windows.ts'

/** Formats counts as `1,240 refusals from TIME to TIME, 87 targets`. `time` formats an ISO 8601 time. */
export function refusalsText(
  tally: Pick<RefusalTally, 'count' | 'first' | 'last' | 'distinct_targets' | 'more_targets'>,
  time: (iso: string) => string = (iso) => iso,
): string {
  const { count, first, last, distinct_targets: targets, more_targets: isMore } = tally
  const refusals = count === 1 ? '1 refusal' : `${grouped(count)} refusals`
  const named =
    targets === 1 && !isMore ? '1 target' : `${grouped(targets)}${isMore ? ' or more' : ''} targets`
  return `${refusals} from ${time(first)} to ${time(last)}, ${named}`
}

/** Formats an integer as `1,240`, without `Intl`: its first formatter takes 6 MiB of memory and 13 ms of CPU time. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}
