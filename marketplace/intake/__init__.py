"""Formats to items: judges what was uploaded before anything is unpacked, and decodes in a sandbox.

Doors (plain data in and out; storage and the database are the caller's):
  plan_upload(name, path, schema, limits) -> UploadPlan        archives, tables, single files; raises IntakeError
  read_entries(path, entries, limits) -> iterator of (Entry, bytes | Refusal)
  decode_images(batch, limits) -> list[DecodedImage | Refusal] through the sandbox, one answer per item
  safe_name(name) -> str                                       a name that is safe to show
  match_label(label, classes) -> LabelMatch
"""
