import { ChaperoneError } from '../../../core/errors.ts'
import {
  CHALLENGE_PATHS,
  ChallengeQuery,
  ChallengeReply,
} from '../../../core/wire/access/installation-proof.ts'
import type { InstallationProof } from '../../crypto/installation-proof.ts'
import { type Route, route } from '../../http/route.ts'

/**
 * Creates the route by which the server authenticates itself to the CLI. The CLI calls the route before it sends a
 * token or a password. The route is not part of API v1.
 */
export function createChallengeRoutes({
  installationProof,
}: {
  readonly installationProof: InstallationProof | null
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: CHALLENGE_PATHS.control_plane,
      auth: 'none',
      summary:
        'Proves to the command line that this server belongs to its data folder. Returns an HMAC over the nonce, the folder and the address that received the challenge, made with the installation key in the home of the user. Returns 404 if the server has no installation key',
      query: ChallengeQuery,
      response: ChallengeReply,
      statuses: [404],
      handler: async ({ query, raw }) => {
        if (installationProof === null) {
          throw new ChaperoneError('not_found', {
            detail:
              'This server has no installation key, so it cannot prove which data folder it belongs to. Set INSTALLATION_KEY_FILE to the key file of the installation.',
          })
        }
        return { proof: installationProof(query.nonce, raw.request.raw.socket) }
      },
    }),
  ]
}
