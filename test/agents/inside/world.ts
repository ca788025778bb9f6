import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leaveMark } from '../../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { manifestsOf } from '../manifests.ts'
import { PROGRAMS } from '../programs.ts'
import { type StandIn, startStandIn } from '../stand-in/stand-in.ts'
import { type Approver, startApprover } from './approver.ts'
import { startTrap, type Trap } from './trap.ts'

/** An installation, everything that it talks to, and a trap for what goes around it. */
export type World = {
  readonly laptop: Laptop
  readonly standIn: StandIn
  readonly approver: Approver
  readonly trap: Trap
  /** For the homes of the cells. */
  readonly root: string
  close(): Promise<void>
}

export async function startWorld(): Promise<World> {
  const trap = await startTrap()
  const standIn = await startStandIn()
  const laptop = await startLaptop({
    isCaptured: true,
    manifests: manifestsOf({ ...standIn, programs: PROGRAMS }),
  })
  const applied = await laptop.cli(['get', 'manifests'])
  if (/error|invalid|conflict/i.test(applied.stdout)) throw new Error(applied.stdout)
  // Makes what all marks share, before several cells ask for it at once.
  await leaveMark(laptop)
  const approver = startApprover(laptop)
  const root = mkdtempSync(join(tmpdir(), 'chaperone-agents-'))
  return {
    ...{ laptop, standIn, approver, trap, root },
    close: async () => {
      await approver.stop()
      await laptop.stop()
      await standIn.close()
      trap.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
