import { existsSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { createPasswords } from '../../crypto/password.ts'
import { resetPassword } from '../../features/users/password-reset.ts'
import { getOrg } from '../../db/orgs.ts'
import { usageError } from '../arguments.ts'
import { withDatabase } from '../backup/database.ts'
import { refuseInsideCapture } from '../capture/refuse-inside-capture.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { requireInstallationKey } from '../client/installation-key.ts'
import { openPrompt } from '../terminal/prompt.ts'

const MIN_LENGTH = 12
const MAX_LENGTH = 1_024

export const user: Command = {
  name: 'user',
  summary: 'Gives a user of this machine a new password, for whoever forgot theirs.',
  usage: ['user reset-password EMAIL'],
  details:
    'Works on the database of the data folder, running or not; no token can do it over the network. Every session and approver\n' +
    'key of the user ends, and the audit log has the event user.password_reset. Refused inside chaperone run --capture.',
  words: 2,
  options: {},
  examples: [['chaperone user reset-password ada@example.com', 'asks twice for the new password']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [verb, email] = invocation.positionals
  if (verb !== 'reset-password' || email === undefined)
    throw usageError(user, 'It goes: chaperone user reset-password EMAIL.')
  refuseInsideCapture('user reset-password')
  const { folder, env, terminal } = invocation
  if (!env['DATABASE_URL'] && !existsSync(folder.postgres)) {
    throw new ChaperoneError('conflict', {
      detail: `There is no installation in ${folder.root}: name its folder with --data DIR.`,
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
      : `${done.email} has a new password. Their sessions and approver keys have ended.`,
  )
  return EXIT.ok
}

async function newPassword(): Promise<string> {
  using prompt = openPrompt()
  const first = await prompt.askSecret(`New password (${MIN_LENGTH} characters or more): `)
  if (first.length < MIN_LENGTH || first.length > MAX_LENGTH)
    throw usageError(user, `A password has ${MIN_LENGTH} to ${MAX_LENGTH} characters. Nothing was changed.`)
  if (first !== (await prompt.askSecret('Once more: ')))
    throw usageError(user, 'The two passwords differ. Nothing was changed.')
  return first
}
