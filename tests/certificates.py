"""Certificates made on the spot, with every extension that Python 3.13 demands by default (RFC 5280)."""

import datetime as dt
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_HOUR = dt.timedelta(hours=1)


def signed_certificate(
    common: str,
    key: Key,
    issuer: str,
    signer: Key,
    *,
    authority: bool = False,
    alternatives: Iterable[x509.GeneralName] = (),
    names_issuer_key: bool = True,
) -> x509.Certificate:
    """Return a certificate for a name and its key, signed by an issuer, valid for an hour around now.

    Args:
        common: the subject's name, as common name and, without `alternatives`, as the one name in the DNS.
        key: the subject's key.
        issuer: the name of the authority; that of the subject if it signs itself.
        signer: the authority's key.
        authority: whether the subject may sign certificates.
        alternatives: the names and addresses that the certificate is for.
        names_issuer_key: whether it has the extension without which Python 3.13 refuses it.
    """
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([*alternatives] or [x509.DNSName(common)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    unsigned = (
        x509.CertificateBuilder()
        .subject_name(_name(common))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + _HOUR)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if names_issuer_key:
        unsigned = unsigned.add_extension(signed_by, critical=False)
    return unsigned.sign(signer, SHA256())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
