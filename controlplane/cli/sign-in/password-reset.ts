import { existsSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { createPasswords } from '../../crypto/password.ts'
import { getOrg } from '../../db/orgs.ts'
import { resetPassword } from '../../features/users/password-reset.ts'
import { usageError } from '../arguments.ts'
import { withDatabase } from '../backup/database.ts'
import { refuseInsideCapture } from '../capture/refuse-inside-capture.ts'
import { requireInstallationKey } from '../client/installation-key.ts'
import { EXIT, flag, type Invocation } from '../command.ts'
import { openPrompt } from '../terminal/prompt.ts'

const USER = { name: 'user' }
const MIN_LENGTH = 12
const MAX_LENGTH = 1_024

/** Sets a new password in the database of the data folder. The network API has no such operation. */
export async function resetUserPassword(invocation: Invocation, email: string): Promise<number> {
  refuseInsideCapture('user reset-password')
  const { folder, env, terminal } = invocation
  if (!env['DATABASE_URL'] && !existsSync(folder.postgres)) {
    throw new ChaperoneError('conflict', {
      detail: `There is no installation in ${folder.root}. Give its data folder with --data DIR.`,
    })
  }
  if (!env['DATABASE_URL']) requireInstallationKey(env, folder.root)
  const password = await newPassword()
  const done = await withDatabase(folder, env, async (db) => {
    const { id: orgId } = await getOrg(db)
    return resetPassword({ db, orgId, passwords: createPasswords() }, { email, password })
  })
  terminal.print(
    flag(invocation, 'json')
      ? JSON.stringify({ ok: true, email: done.email })
      : `${done.email} has a new password. The user's sessions and approver keys are revoked.`,
  )
  return EXIT.ok
}

async function newPassword(): Promise<string> {
  using prompt = openPrompt()
  const first = await prompt.askSecret(`New password (${MIN_LENGTH} characters or more): `)
  if (first.length < MIN_LENGTH || first.length > MAX_LENGTH)
    throw usageError(
      USER,
      `A password must have ${MIN_LENGTH} to ${MAX_LENGTH} characters. Nothing was changed.`,
    )
  if (first !== (await prompt.askSecret('Repeat the password: ')))
    throw usageError(USER, 'The two passwords differ. Nothing was changed.')
  return first
}
