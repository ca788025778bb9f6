import * as z from 'zod'

/** Request for a certificate. `request`: PKCS#10 for a P-256 key, PEM. */
export const CertificateBody = z.object({ request: z.string().max(4_000) })
/** Issued certificate. `chain`: the certificate of the key, then the root that clients trust, PEM. */
export const CertificateReply = z.object({ chain: z.string(), not_after: z.iso.datetime() })

export type CertificateReply = z.infer<typeof CertificateReply>
