import * as z from 'zod'

/** Request for a certificate. `request` is a PKCS#10 request for a P-256 key, as PEM. */
export const CertificateBody = z.object({ request: z.string().max(4_000) })
/** Issued certificate. `chain` contains the certificate of the key, then the root that clients trust, as PEM. */
export const CertificateReply = z.object({ chain: z.string(), not_after: z.iso.datetime() })

export type CertificateReply = z.infer<typeof CertificateReply>
