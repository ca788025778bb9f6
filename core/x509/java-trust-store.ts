import * as der from './der.ts'

const OIDS = {
  data: '1.2.840.113549.1.7.1',
  certBag: '1.2.840.113549.1.12.10.1.3',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  /**
   * OID of the attribute (by Oracle) that marks a trusted certificate. Java trusts only entries with this attribute.
   */
  trustedKeyUsage: '2.16.840.1.113894.746875.1.1',
  anyExtendedKeyUsage: '2.5.29.37.0',
} as const

const BMP_STRING = 0x1e
const VERSION_3 = der.unsigned(Uint8Array.of(3))

export type TrustedCertificate = { readonly alias: string; readonly der: Uint8Array }

/**
 * Creates a PKCS#12 file that Java accepts as a trust store. The file contains only public certificates, so it is
 * neither encrypted nor signed, and any password opens it. Aliases must be unique and ASCII.
 */
function javaTrustStore(certificates: readonly TrustedCertificate[]): Uint8Array {
  const contents = der.sequence(...certificates.map(bag))
  return der.sequence(VERSION_3, content(der.sequence(content(contents))))
}

/** Creates a trust store for Java from certificates in PEM. Duplicates are removed. */
export function javaTrustStoreOf(pems: readonly string[]): Uint8Array {
  const bodies = [...new Set(pems.map((text) => text.replace(/-----[^-]+-----|\s/g, '')))]
  return javaTrustStore(
    bodies.map((body, index) => ({
      alias: `authority-${index + 1}`,
      der: Uint8Array.from(atob(body), (byte) => byte.charCodeAt(0)),
    })),
  )
}

function bag({ alias, der: certificate }: TrustedCertificate): Uint8Array {
  const value = der.sequence(der.oid(OIDS.x509Certificate), der.explicit(0, der.octetString(certificate)))
  const attributes = der.set(
    attribute(OIDS.friendlyName, der.element(BMP_STRING, bmp(alias))),
    attribute(OIDS.trustedKeyUsage, der.oid(OIDS.anyExtendedKeyUsage)),
  )
  return der.sequence(der.oid(OIDS.certBag), der.explicit(0, value), attributes)
}

function content(bytes: Uint8Array): Uint8Array {
  return der.sequence(der.oid(OIDS.data), der.explicit(0, der.octetString(bytes)))
}

function attribute(id: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(id), der.set(value))
}

function bmp(text: string): Uint8Array {
  return Uint8Array.from([...text].flatMap((character) => [0, character.charCodeAt(0)]))
}
