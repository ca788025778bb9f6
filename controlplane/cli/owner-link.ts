import * as z from 'zod'
import type { ApiClient } from './client.ts'

const Users = z.object({ users: z.array(z.looseObject({ role: z.string() })) })

/** Where the first person registers and becomes the owner; null once there is one. */
export async function ownerLink(
  api: ApiClient,
  controlPlaneReady: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const { users } = Users.parse(await api.call('GET', '/api/dashboard/users'))
  if (users.some(({ role }) => role === 'owner')) return null
  const { owner_link: link, setup_token: token } = controlPlaneReady
  if (typeof link === 'string') return link
  return `${api.url}/setup${typeof token === 'string' ? `?token=${encodeURIComponent(token)}` : ''}`
}

const Required = z.looseObject({ owner_link: z.string().nullable() })

/** Ends the registration without a link, before an agent is started. Returns the owner link while there is no owner. */
export async function requireOwnerLink(api: ApiClient): Promise<string | null> {
  return Required.parse(await api.call('POST', '/api/auth/owner-link')).owner_link
}
