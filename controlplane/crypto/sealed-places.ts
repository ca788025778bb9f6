/**
 * The contexts (additional authenticated data) with which the secrets of the database are encrypted. A secret cannot be
 * decrypted with the context of another row.
 */
export const sealedPlace = {
  setting: (key: string) => `setting ${key}`,
  signingKey: (kid: string) => kid,
  identityTokens: (userId: string) => `tokens of ${userId} at the identity provider`,
  connector: (id: string) => id,
  manifest: ({ kind, namespace, name }: ManifestKey) => `desired/${kind}/${namespace}/${name}`,
  actionWebhook: (actionId: string) => `webhook ${actionId}`,
  outboxUrl: (eventId: string) => `outbox ${eventId}`,
  credential: (name: string) => `credential/${name}`,
  notificationChannel: (name: string) => `notification channel ${name}`,
  minted: (connectorId: string, part: 'secret' | 'rotated') => `minted/${connectorId}/${part}`,
  pushSubscription: (id: string) => `push subscription ${id}`,
} as const

type ManifestKey = { readonly kind: string; readonly namespace: string; readonly name: string }
