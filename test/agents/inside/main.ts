import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { queueLookups } from '../../support/proof.ts'
import { cellOf, MODES } from '../mode.ts'
import { PROGRAMS } from '../programs.ts'
import type { Order, Outcome } from './order.ts'
import { runCell } from './run-cell.ts'
import { startWorld } from './world.ts'

/** Runs the ordered cells inside of the namespace: one line of JSON for each, in the order in which they end. */
const input = createInterface({ input: process.stdin })
const [line] = (await once(input, 'line')) as [string]
const orders = JSON.parse(line) as readonly Order[]
// The test has gone; every process of the namespace ends with this one.
input.once('close', () => process.exit(1))
const world = await startWorld()

async function run({ programId, modeId, installed }: Order): Promise<void> {
  const program = PROGRAMS.find(({ id }) => id === programId)
  const mode = MODES.find(({ id }) => id === modeId)
  if (program === undefined || mode === undefined) throw new Error(`no cell ${modeId} of ${programId}`)
  const facts = await runCell(world, { program, mode, installed })
  print({ cell: cellOf(program, mode), facts })
}

const isLong = ({ modeId }: Order) => modeId === 'held-70'
// Those that are held for long wait, and leave the cores to the others.
await Promise.all([
  queueLookups(orders.filter(isLong), 8, run),
  queueLookups(
    orders.filter((order) => !isLong(order)),
    3,
    run,
  ),
])
print({ cell: 'end', packetsAround: world.trap.packetsAround(), around: world.trap.around })
await world.close()
process.exit(0)

function print(outcome: Outcome): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}
