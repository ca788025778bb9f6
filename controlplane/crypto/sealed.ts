/**
 * A secret, encrypted with AES-256-GCM. `nonce` and `ciphertext` are in base64. `ciphertext` ends with the 16-byte
 * authentication tag.
 */
export type Sealed = { readonly key_id: string; readonly nonce: string; readonly ciphertext: string }
