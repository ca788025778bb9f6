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
