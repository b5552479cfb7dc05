"""Registering, tokens, and what a caller is told about themselves."""

from typing import Any

from rest_framework import serializers

from marketplace.models import ApiToken


class RegisterIn(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)
    password = serializers.CharField(
        max_length=128, trim_whitespace=False, help_text="At least 10 characters, not a common password."
    )
    display_name = serializers.CharField(
        max_length=80,
        required=False,
        default="",
        allow_blank=True,
        help_text="Shown to others instead of the e-mail.",
    )


class RegisterOut(serializers.Serializer[Any]):
    email = serializers.EmailField()
    verification = serializers.ChoiceField(
        choices=["optional", "mandatory", "none"],
        help_text="Whether the address must be confirmed (by the link in the mail) before a token is issued.",
    )


class TokenIn(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)
    password = serializers.CharField(max_length=128, trim_whitespace=False)
    code = serializers.CharField(
        max_length=20, required=False, help_text="One-time code, for accounts with two-factor login."
    )
    name = serializers.CharField(max_length=80, help_text="Which program the token is for.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=list(ApiToken.SCOPES)),
        min_length=1,
        max_length=5,
        help_text="read, write, and moderate for moderators. backbone and peer are not issued here.",
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


class TokenOut(serializers.ModelSerializer[ApiToken]):
    """`token` is shown this once: only its hash is kept."""

    id = serializers.UUIDField(source="public_id")
    token = serializers.SerializerMethodField()

    class Meta:
        model = ApiToken
        fields = ["id", "token", "name", "scopes", "expires_at"]

    def get_token(self, token: ApiToken) -> str:
        return str(self.context["secret"])


class Me(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    display_name = serializers.CharField()
    moderator = serializers.BooleanField(help_text="May judge items.")
    sponsor = serializers.BooleanField(help_text="May create campaigns.")
    scopes = serializers.ListField(
        child=serializers.CharField(), help_text="What this call's credentials allow."
    )
