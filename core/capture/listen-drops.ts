/** The kernel's counters of the network that the reader is in. */
export const NETWORK_COUNTERS = '/proc/self/net/netstat'

/**
 * How many first packets of connections listeners of this network have let fall since it is there, from the text of
 * `NETWORK_COUNTERS`: a line of names, then a line of values, each beginning with `TcpExt:`. 0 when it does not say.
 */
export function listenDropsIn(text: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith('TcpExt: '))
  const at = names?.split(' ').indexOf('ListenDrops') ?? -1
  return at === -1 ? 0 : Number(values?.split(' ')[at] ?? 0)
}
