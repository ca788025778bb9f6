/** Linux file with the counters of this network namespace. */
export const NETWORK_COUNTERS = '/proc/self/net/netstat'

/**
 * Returns the number of SYN packets that the listeners of this network namespace have dropped since its creation, from
 * the text of `NETWORK_COUNTERS`. The text has a line of names, then a line of values, both beginning with `TcpExt:`.
 * Returns 0 if the counter is missing.
 */
export function listenDropsIn(text: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith('TcpExt: '))
  const at = names?.split(' ').indexOf('ListenDrops') ?? -1
  return at === -1 ? 0 : Number(values?.split(' ')[at] ?? 0)
}
