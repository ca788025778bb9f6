/** Matches the headers of a part whose content is not plain UTF-8: another charset or a transfer encoding. */
export const RECODED =
  /charset\s*=(?!\s*"?utf-?8\b)|content-transfer-encoding\s*:(?!\s*(?:binary|[78]bit)\s*(?:\r|$))/i
