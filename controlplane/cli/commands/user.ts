import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { ROLES } from '../../../core/wire/access/rights.ts'
import { Email } from '../../../core/wire/schema/fields.ts'
import { type InvitationView, UserActionReply, UserList } from '../../../core/wire/users.ts'
import { checkedOption, checkedValue, verbOf } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { resetUserPassword } from '../sign-in/password-reset.ts'
import { printable, table } from '../terminal/table.ts'

const PATH = '/api/dashboard/users'
const VERBS = {
  list: null,
  invite: 'EMAIL',
  invitations: null,
  'revoke-invitation': 'EMAIL',
  'reset-password': 'EMAIL',
} as const
const Role = z.enum(ROLES, `is not one of ${ROLES.join(', ')}`)

export const user: Command = {
  name: 'user',
  summary: 'List and invite users, revoke invitations, and reset a password',
  usage: [
    'user list|invitations',
    'user invite EMAIL [--role ROLE]',
    'user revoke-invitation EMAIL',
    'user reset-password EMAIL',
  ],
  details:
    'invite prints a link, which is shown only once and valid for one registration with this address.\n' +
    'reset-password writes to the database of the data folder, whether Chaperone runs or not. The network API has no such\n' +
    'operation. reset-password also revokes every session and approver key of the user, and records user.password_reset in the\n' +
    'audit log. reset-password is refused inside chaperone run --capture. All other commands need the right to change users: chaperone login',
  maxArguments: 2,
  options: {
    role: { type: 'string', value: 'ROLE', help: 'viewer (default), member, admin or owner' },
  },
  examples: [
    ['chaperone user invite ada@example.com --role member', 'print a link with which Ada registers'],
    ['chaperone user invitations', 'list the unused invitations, with their expiry'],
    ['chaperone user reset-password ada@example.com', 'prompt twice for the new password'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { verb, argument } = verbOf(user, invocation.positionals, VERBS)
  if (verb === 'list') return await printUsers(invocation, userClient(invocation))
  if (verb === 'invitations') return await printInvitations(invocation, userClient(invocation))
  if (verb === 'revoke-invitation') return await revoke(invocation, userClient(invocation), argument)
  const email = checkedValue(user, Email, argument)
  return verb === 'invite' ? await invite(invocation, email) : await resetUserPassword(invocation, email)
}

async function printUsers(invocation: Invocation, api: ApiClient): Promise<number> {
  const { users } = UserList.parse(await api.call('GET', PATH))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ users }))
  else {
    const rows = users.map((row) => [row.email, row.name, row.role, row.status, row.groups, row.id])
    for (const line of table(['EMAIL', 'NAME', 'ROLE', 'STATUS', 'GROUPS', 'ID'], rows)) print(line)
  }
  return EXIT.ok
}

async function printInvitations(invocation: Invocation, api: ApiClient): Promise<number> {
  const invitations = await pendingInvitations(api)
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ invitations }))
  else {
    const rows = invitations.map((row) => [row.email, row.role, row.invited_by, row.expires_at, row.id])
    for (const line of table(['EMAIL', 'ROLE', 'INVITED BY', 'EXPIRES', 'ID'], rows)) print(line)
  }
  return EXIT.ok
}

async function invite(invocation: Invocation, email: string): Promise<number> {
  const role = checkedOption(user, invocation, 'role', Role) ?? 'viewer'
  const body = { action: 'invite', email, role }
  const reply = UserActionReply.parse(await userClient(invocation).call('POST', PATH, body))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(reply))
  else {
    print(`${email} is invited with the role ${role}. Send this link, which is shown only once:`)
    print(reply.invite_link ?? '')
  }
  return EXIT.ok
}

/** Revokes all unused invitations of an e-mail address, or the invitation with the given id. */
async function revoke(invocation: Invocation, api: ApiClient, given: string): Promise<number> {
  const found = (await pendingInvitations(api)).filter((row) => row.email === given || row.id === given)
  if (found.length === 0)
    throw new ChaperoneError('not_found', {
      detail: `There is no unused invitation for ${printable(given)}. See: chaperone user invitations`,
    })
  for (const { id } of found) await api.call('POST', PATH, { action: 'revoke_invitation', invitation_id: id })
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ ok: true, revoked: found.map(({ id }) => id) }))
  else print(`Invitations for ${printable(given)} revoked: ${found.length}.`)
  return EXIT.ok
}

async function pendingInvitations(api: ApiClient): Promise<readonly InvitationView[]> {
  return UserList.parse(await api.call('GET', PATH)).invitations
}
