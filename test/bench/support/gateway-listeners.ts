import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Served, serve } from '../../support/processes.ts'
import type { DurableBed } from './durable-bed.ts'

const STREAMS = new URL('./gateway-streams.ts', import.meta.url).pathname

/** So many gateway processes that only listen and acknowledge, all of the Gateway `default/local`. */
export function startGatewayStreams(
  bed: Pick<DurableBed, 'folder'>,
  plane: Served,
  count: number,
): Promise<Served> {
  const token = readFileSync(join(bed.folder, 'enrol.token'), 'utf8').trim()
  return serve(STREAMS, { PORT: String(plane.port), TOKEN: token, STREAMS: String(count) })
}

/**
 * Resolves with the time at which each stream received a kill state with (or without) an active kill switch, in
 * nanoseconds of `process.hrtime`.
 */
export function receivedBy({ child }: Served, isActive: boolean): Promise<readonly bigint[]> {
  const received = new Promise<bigint[]>((resolve, reject) => {
    const onMessage = (message: { type: string; at: readonly string[] }): void => {
      if (message.type === 'gone') reject(new Error('a stream was cut'))
      if (message.type !== 'heard') return
      child.off('message', onMessage)
      resolve(message.at.map(BigInt))
    }
    child.on('message', onMessage)
  })
  child.send({ type: 'expect', stopped: isActive })
  return received
}
