import * as z from 'zod'
import { MAX_HANDLES } from '../../connectors/handles/handle.ts'

/** SHA-256 over scope, kind and id in lower-case hex. The id itself stays in the gateway. */
const HandleHash = z.string().regex(/^[0-9a-f]{64}$/)

/** A handle that the provider returned for one request. */
export const GivenHandle = z.object({ kind: z.string().max(64), hash: HandleHash })

export const HandleOwnerSchema = z.enum(['own', 'foreign', 'unknown'])

/** Asks the control plane for the owners of handles, from the point of view of one agent. */
export const HandlesBody = z.object({
  agent: z.string().min(1).max(300),
  hashes: z.array(HandleHash).min(1).max(MAX_HANDLES),
})
/** Owners in the order of `hashes`. */
export const HandlesReply = z.object({ owners: z.array(HandleOwnerSchema) })

export type GivenHandle = z.infer<typeof GivenHandle>
export type HandlesBody = z.infer<typeof HandlesBody>
export type HandlesReply = z.infer<typeof HandlesReply>
